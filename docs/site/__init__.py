"""The documentation as a site: ``make site``, or ``python -m docs.site FOLDER``.

The pages are those of ``docs/`` and of the top folder, as they are. ``navigation.toml`` says where each of them stands,
``staging.py`` lays them out for Sphinx, and ``reference.py`` writes the pages that come from the code.
"""
