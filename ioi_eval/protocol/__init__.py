"""The words on the wire: the proctor's plan and lines, Piston's requests and replies. Pure."""
