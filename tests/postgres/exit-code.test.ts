/** The server of the tests runs in the process of the test runner, whose exit code must reach the shell. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath, pathToFileURL } from "node:url"
import { expect, test } from "vitest"

test("a process that had a server ends with its own exit code", async () => {
  const module = fileURLToPath(new URL("./start-postgres.ts", import.meta.url))
  const program = `
    import { startPostgres } from ${JSON.stringify(pathToFileURL(module).href)}
    const server = await startPostgres()
    process.exitCode = 3
    await server.stop()`
  const args = ["--import", "tsx", "--input-type=module", "--eval", program]
  const child = spawn(process.execPath, args, { stdio: ["ignore", "inherit", "inherit"] })
  expect(await once(child, "close")).toEqual([3, null])
})
