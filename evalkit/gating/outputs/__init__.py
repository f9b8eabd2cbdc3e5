"""What the gate writes for people and for CI: tables, JUnit, SARIF, Markdown, workflow commands."""
