"""Figures: arrays in, ``go.Figure`` out. No Streamlit, no torch, no page."""
