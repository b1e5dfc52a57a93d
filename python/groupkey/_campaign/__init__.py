"""What a campaign is made of: its cells, where they run, and where they are kept."""
