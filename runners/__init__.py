"""Drivers of document parsers: load generator, clients, server launchers, emulator."""
