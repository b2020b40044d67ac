"""What a browser may do with a data docs page: show text with Great Expectations' own style sheets.

The pages quote rows. Whoever can put a row into a feed shall neither run a script in the browser
of whoever reads the page, nor have it call a server; the second also where an escape is missing.
"""

# By their whole addresses: on these servers everybody may put files.
STYLE_SHEETS = (
    "https://cdn.jsdelivr.net/npm/@forevolve/bootstrap-dark@1.1.0/dist/css/bootstrap-prefers-dark.css",
    "https://cdnjs.cloudflare.com/ajax/libs/bootstrap-datepicker/1.9.0/css/bootstrap-datepicker.min.css",
    "https://cdnjs.cloudflare.com/ajax/libs/font-awesome/6.6.0/css/all.min.css",
    "https://maxcdn.bootstrapcdn.com/bootstrap/4.3.1/css/bootstrap.min.css",
    "https://unpkg.com/bootstrap-table@1.19.0/dist/extensions/filter-control/bootstrap-table-filter-control.css",
    "https://unpkg.com/bootstrap-table@1.19.1/dist/bootstrap-table.min.css",
)
DIRECTIVES = (
    "default-src 'none'",
    f"style-src 'self' 'unsafe-inline' {' '.join(STYLE_SHEETS)}",
    "font-src 'self'",
    "img-src 'self' data:",
    "form-action 'none'",
    "base-uri 'none'",
)
# A header may say more than a page can say of itself.
WITHIN_AIRFLOW = (
    *DIRECTIVES,
    "frame-ancestors 'self'",
    "sandbox allow-same-origin allow-popups",
)
