/** Starts workers on one store, and looks at what they left. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { onTestFinished } from "vitest"
import { bundled } from "../bundled.ts"
import { Process } from "../crash/processes.ts"
import { openStore } from "../stores.ts"
import type { WorkerCommand, WorkerJob, WorkerMessage, WorkflowName } from "./worker.ts"

const program = bundled(join(import.meta.dirname, "worker.ts"))

export interface Effect {
  readonly runId: string
  readonly name: string
  readonly key: string
  readonly pid: number
}

export class Worker {
  readonly process: Process<WorkerMessage>

  constructor(job: WorkerJob) {
    this.process = new Process<WorkerMessage>(program, job)
  }

  send(command: WorkerCommand): void {
    this.process.send(JSON.stringify(command))
  }

  start(workflow: WorkflowName, runId: string, input = 0): void {
    this.send({ type: "start", workflow, runId, input })
  }

  async began(runId: string): Promise<void> {
    await this.process.waitFor((message) => message.type === "began" && message.runId === runId)
  }

  async ended(runId: string): Promise<string> {
    const message = await this.process.waitFor((one) => one.type === "ended" && one.runId === runId)
    return message.type === "ended" ? message.status : ""
  }

  problems(code: string): Extract<WorkerMessage, { type: "problem" }>[] {
    return this.process.messages.flatMap((message) =>
      message.type === "problem" && message.code === code ? [message] : [],
    )
  }
}

let addressOf = (folder: string) => join(folder, "runs.db")

/** The tests of this module use such stores from now on, instead of a file each. */
export function useStores(address: () => string): void {
  addressOf = address
}

/** A place with a store and a trail, gone with the test. */
export function field(defaults: Partial<WorkerJob> = {}) {
  const folder = mkdtempSync(join(tmpdir(), "superstep-hostile-"))
  const [path, trail] = [addressOf(folder), join(folder, "trail")]
  const workers: Worker[] = []
  const store = openStore(path)
  onTestFinished(async () => {
    for (const { process } of workers) process.signal("SIGKILL")
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    store,
    async worker(job: Partial<WorkerJob> = {}): Promise<Worker> {
      const made = new Worker({ path, trail, ...defaults, ...job })
      workers.push(made)
      await made.process.waitFor(({ type }) => type === "ready")
      return made
    },
    effects(): Effect[] {
      const lines = existsSync(trail) ? readFileSync(trail, "utf8").trim().split("\n") : []
      return lines.map((line) => {
        const [runId = "", name = "", key = "", pid = ""] = line.split(" ")
        return { runId, name, key, pid: Number(pid) }
      })
    },
  }
}

/** Looks again and again, without a limit of its own: the test has one. */
export async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 20))
}
