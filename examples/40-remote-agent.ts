/** Remote agent: an agent behind an A2A endpoint, as a member of a team. */
import { createServer } from "node:http"
import { agent } from "superstep/agents"
import { scriptedModel } from "superstep/models"
import { a2aAgent, sequential } from "superstep/patterns"

/** A minimal remote agent: its card, and a task that is complete when it is polled. */
export async function withForecaster<T>(use: (url: string) => Promise<T>): Promise<T> {
  let asked = ""
  const result = (method: string, params: { message?: { parts: { text: string }[] } }) => {
    if (method !== "SendMessage") {
      const artifacts = [{ artifactId: "a", parts: [{ text: `${asked}: sunny, 24 degrees.` }] }]
      return { id: "task-1", contextId: "c", status: { state: "TASK_STATE_COMPLETED" }, artifacts }
    }
    asked = params.message?.parts[0]?.text ?? ""
    return { task: { id: "task-1", contextId: "c", status: { state: "TASK_STATE_WORKING" } } }
  }
  const server = createServer(async (request, response) => {
    let body = ""
    for await (const piece of request) body += piece
    const { id, method, params } = request.method === "POST" ? JSON.parse(body) : {}
    const endpoint = { url: "/rpc", protocolBinding: "JSONRPC", protocolVersion: "1.0" }
    const answer =
      method === undefined
        ? { name: "forecaster", supportedInterfaces: [endpoint] }
        : { jsonrpc: "2.0", id, result: result(method, params) }
    response.setHeader("content-type", "application/json").end(JSON.stringify(answer))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as { port: number }
  try {
    return await use(`http://127.0.0.1:${port}`)
  } finally {
    server.close()
  }
}

const model = scriptedModel({ planner: ["Sunny, 24 degrees: go to the beach."] })

/** The task's id is recorded: after a crash the task is polled again, not started again. */
export const outing = (url: string) =>
  sequential([
    a2aAgent({ url, name: "forecaster", description: "Knows the weather." }),
    agent({ name: "planner", model, instructions: "Say what to do in that weather." }),
  ])

if (import.meta.filename === process.argv[1]) {
  await withForecaster(async (url) => {
    const { state } = await outing(url).run("Rimini, Sunday")
    for (const { speaker, text } of state.said as { speaker: string; text: string }[]) {
      console.log(`${speaker}: ${text}`)
    }
  })
}
