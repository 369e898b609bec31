"""Constraints between attributes that every synthetic row must meet: their language, and what they say of rows."""
