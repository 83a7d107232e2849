/** Sent in the handshake of client and server; a test compares it with package.json. */
export const VERSION = "0.1.0"
