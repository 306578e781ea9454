"""Where clocks, back-off and robots records live: one small protocol, several stores."""
