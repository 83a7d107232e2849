/** The packages as `npm pack` makes them, installed: `superstep serve` answers. Needs what `npm run build` leaves. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { afterAll, beforeAll, expect, test } from "vitest"
import { ensureBuilt, pack, projectWith } from "./installed.ts"

const folder = mkdtempSync(join(tmpdir(), "superstep-served-"))
let project: string

beforeAll(() => {
  ensureBuilt()
  project = projectWith(pack(folder), [])
}, 600_000)

afterAll(() => {
  for (const one of [folder, project]) rmSync(one, { recursive: true, force: true })
})

const FILES = {
  "refund.yaml": "name: refund\nworkflow: [{ id: approve, type: human, prompt: Refund it? }]\n",
  "greet.mjs": `import { node, workflow } from "superstep"
export default workflow("greet").start(node("greet", (name) => "Hello " + name)).build()
`,
}

test.each([
  ["refund.yaml", "refund", "waiting"],
  ["greet.mjs", "greet", "completed"],
] as const)("an installed superstep serves %s, and stops at SIGTERM", async (file, workflow, status) => {
  writeFileSync(join(project, file), FILES[file])
  const command = join(project, "node_modules/superstep/bin/superstep.cjs")
  const argv = [command, "serve", file, "--port", "0", "--store", "memory:", "--json"]
  const { NODE_OPTIONS: _, NODE_PATH: __, ...env } = process.env
  const server = spawn(process.execPath, argv, { cwd: project, env, stdio: ["ignore", "pipe", "inherit"] })
  const ended = once(server, "exit")
  try {
    let url: string | undefined
    for await (const line of createInterface(server.stdout)) {
      const entry = JSON.parse(line) as { type: string; url?: string }
      if (entry.type !== "listening") continue
      url = entry.url
      break
    }
    const response = await fetch(`${url}/v1/workflows/${workflow}/runs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ input: "Ada" }),
    })
    expect(await response.json()).toMatchObject({ status })
    expect((await fetch(`${url}/docs`)).status).toBe(200)
  } finally {
    server.kill("SIGTERM")
  }
  // Windows has no signals.
  if (process.platform !== "win32") expect(await ended).toEqual([0, null])
})
