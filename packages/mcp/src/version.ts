/** What both sides say about themselves when they meet; a test holds it to the package's own. */
export const VERSION = "0.1.0"
