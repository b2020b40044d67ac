-- How much each customer did in each hour. Actions of a customer who is not in the table yet do not
-- count; the table is that of the batch in which an action comes.
WITH counted AS (
  SELECT customer_id, name, window, count(*) AS actions
  FROM actions JOIN customers USING (customer_id)
  GROUP BY customer_id, name, window(at, '1 hour')
)
SELECT window.start AS hour, customer_id, name, actions
FROM counted
