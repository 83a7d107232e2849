// The child's side of system-process.mjs: does what its parent asks, one request at a time.

/** @param requests functions by name, each taking the request's options */
export function answerRequests(requests) {
  const known = { ...requests, close: () => setImmediate(() => process.exit(0)) }
  process.on("message", async ({ request, options }) => {
    try {
      process.send({ value: await known[request](options) })
    } catch (error) {
      process.send({ error: error instanceof Error ? (error.stack ?? error.message) : String(error) })
    }
  })
  process.on("disconnect", () => process.exit(0))
  process.send({ value: "ready" })
}
