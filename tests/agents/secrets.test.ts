/** Keys, headers and secret arguments: a run over real HTTP, and then a look into everything that it left behind. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createOpenAI } from "@ai-sdk/openai"
import { agent } from "superstep/agents"
import { cassette } from "superstep/models"
import { sqliteStore } from "superstep/sqlite"
import { tool } from "superstep/tools"
import { expect, test, vi } from "vitest"
import { z } from "zod"
import { modelServer } from "../models/model-server.ts"
import { DONE, ends, refused, says, stream, toolPiece, used } from "../models/openai-replies.ts"

const KEY = "sk-live-0123456789abcdefghij"
const HEADER = "tenant-secret-9876543210"
const PIN = "pin-4711-0815-2342"

test("no secret is in the journal, the events, the cassette, the result, the errors or what is printed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "superstep-secrets-"))
  const server = await modelServer()
  const printed: string[] = []
  const spies = [vi.spyOn(process.stdout, "write"), vi.spyOn(process.stderr, "write")]
  for (const spy of spies) {
    spy.mockImplementation((text) => {
      printed.push(String(text))
      return true
    })
  }
  const seen: unknown[] = []
  const opened: string[] = []
  try {
    const openai = createOpenAI({ baseURL: server.url, apiKey: KEY, headers: { "x-tenant": HEADER } })
    const door = tool({
      name: "open_door",
      description: "Opens the door.",
      input: z.object({ pin: z.string() }),
      secret: ["pin"],
      run: ({ pin }) => {
        opened.push(pin)
        return `opened with ${pin}`
      },
    })
    const model = cassette(join(folder, "traffic.jsonl"), openai.chat("m1"), {
      mode: "record",
      secretFields: ["pin"],
    })
    const porter = agent({ name: "porter", model, tools: [door], calling: { retry: { attempts: 1 } } })
    const store = sqliteStore({ path: join(folder, "runs.db") })
    server.serve(
      stream(
        toolPiece(0, {
          id: "c1",
          type: "function",
          function: { name: "open_door", arguments: `{"pin":"${PIN}"}` },
        }),
        ends("tool_calls"),
        used,
        DONE,
      ),
      stream(says("The door is open."), ends("stop"), used, DONE),
      // A server that repeats what it was sent, in an error.
      refused(400, `bad key ${KEY}`),
    )
    const run = porter.stream("Open the door.", { store })
    for await (const event of run) seen.push(event)
    seen.push(await run)
    seen.push(await porter.run("Again.", { store }).result)
    await store.close()
    await porter.close()
  } finally {
    for (const spy of spies) spy.mockRestore()
    await server.close()
  }
  // It was really used, and really sent.
  expect(opened).toEqual([PIN])
  expect(server.requests[0]?.headers).toMatchObject({ authorization: `Bearer ${KEY}`, "x-tenant": HEADER })
  const left = readdirSync(folder).map((file) => [file, readFileSync(join(folder, file), "latin1")] as const)
  const texts = [
    ...left,
    ["events and results", inspect(seen)] as const,
    ["printed", printed.join("")] as const,
  ]
  expect(left.map(([file]) => file)).toContain("traffic.jsonl")
  for (const [where, text] of texts) {
    for (const secret of [KEY, HEADER, PIN])
      expect(text.includes(secret), `${secret} in ${where}`).toBe(false)
  }
  expect(left.find(([file]) => file.startsWith("runs.db"))?.[1].length).toBeGreaterThan(1_000)
  rmSync(folder, { recursive: true, force: true })
})

/** Everything that is reachable, errors and their causes too. */
function inspect(value: unknown): string {
  const known = new Set<unknown>()
  const walk = (one: unknown): string => {
    if (typeof one !== "object" || one === null) return String(one)
    if (known.has(one)) return ""
    known.add(one)
    return Object.getOwnPropertyNames(one)
      .map((name) => `${name}: ${walk((one as Record<string, unknown>)[name])}`)
      .join("\n")
  }
  return walk(value)
}
