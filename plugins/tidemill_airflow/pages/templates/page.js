// Airflow shows a page of a plugin in a frame. Light or dark is what Airflow's own switch says; and
// a link that leads to a page of Airflow's own is followed by the window, for the frame may not
// navigate it.
(() => {
  if (window.parent === window) return;
  let airflow;
  try {
    airflow = window.parent.document;
  } catch {
    return;
  }
  const follow = () => {
    const scheme = airflow.documentElement.style.colorScheme;
    document.documentElement.style.colorScheme = scheme || "light dark";
  };
  follow();
  new MutationObserver(follow).observe(airflow.documentElement, { attributeFilter: ["style"] });
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
