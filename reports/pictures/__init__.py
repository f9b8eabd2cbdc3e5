"""Still pictures of a report, drawn by matplotlib and coloured by the page's style sheet."""
