// Airflow shows a page of a plugin in a frame that may not navigate the window around it: a link
// that leads to a page of Airflow's own is followed by the window itself.
(() => {
  if (window.parent === window) return;
  let airflow;
  try {
    airflow = window.parent.document;
  } catch {
    return;
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[target="_top"]');
    if (!link || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const copy = airflow.createElement("a");
    copy.href = link.href;
    airflow.body.append(copy);
    copy.click();
    copy.remove();
  });
})();
