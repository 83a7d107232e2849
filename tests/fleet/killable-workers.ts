/** Worker processes of a fleet test: each reports with a message when it is ready, and may be killed. */
import { type ChildProcess, fork } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll } from "vitest"
import { bundledTogether } from "../bundled.ts"

export interface KillableWorkers {
  /** A folder for the store and the trail of the test. */
  readonly folder: string
  start(...args: string[]): Promise<ChildProcess>
}

/** `name` is that of the program: `NAME-worker.ts`. */
export function killableWorkers(name: string): KillableWorkers {
  let folder = ""
  let program = ""
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), `superstep-${name}-`))
    const file = join(import.meta.dirname, `${name}-worker.ts`)
    program = bundledTogether([file])(file)
  })
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  return {
    get folder() {
      return folder
    },
    async start(...args) {
      const child = fork(program, args, { execArgv: [], stdio: ["ignore", "ignore", "inherit", "ipc"] })
      await answer(child)
      return child
    },
  }
}

/** The next message. Rejects if the process ends before. */
export function answer(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    child.once("message", resolve)
    child.once("exit", (code, signal) => reject(new Error(`The worker ended: ${signal ?? `code ${code}`}`)))
  })
}

export async function kill(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once("exit", resolve))
  child.kill("SIGKILL")
  await ended
}
