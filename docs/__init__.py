"""The pages, and in `site/` what makes a site of them."""
