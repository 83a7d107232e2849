/** Backups that are taken while a worker executes runs: restored, the runs continue from what the backup has. */
import { expect, test } from "vitest"
import { field, until, useStores } from "../hostile/workers.ts"
import { openStore } from "../stores.ts"

const STEPS = 30

export interface RestoreTest {
  /** How the backup is taken, as the name of the test has it. */
  readonly how: string
  /** What it needs is not installed. */
  readonly skip?: boolean | undefined
  newAddress(): string
  /** The address of a store that was restored from a backup of this one. */
  restored(address: string): string | Promise<string>
}

export function restoreTest({ how, skip = false, newAddress, restored }: RestoreTest): void {
  test.skipIf(skip)(
    `runs continue from a backup by ${how}: what it has is not repeated`,
    { timeout: 120_000 },
    async () => {
      const address = newAddress()
      useStores(() => address)
      const { store, worker, effects } = field()
      const first = await worker()
      first.start("ask", "question")
      first.start("halves", "work", STEPS)
      await until(async () => (await store.run("question"))?.status === "waiting")
      // In the middle of a step, however long the backup takes.
      await until(() => effects().length > STEPS / 2)
      first.process.signal("SIGSTOP")
      const backup = await restored(address)
      first.process.signal("SIGKILL")
      await first.process.end()

      const copy = openStore(backup)
      const recorded = (await copy.read("work", 0)).flatMap(({ entry }) =>
        entry.type === "step.recorded" ? [entry.key] : [],
      )
      expect(recorded).toHaveLength(STEPS / 2)
      const next = await worker({ path: backup })
      next.send({ type: "finish" })
      next.send({ type: "respond", id: "answer", runId: "question", value: "yes" })
      for (const runId of ["work", "question"])
        await until(async () => (await copy.run(runId))?.status === "completed")
      const after = effects().flatMap(({ pid, name }) => (pid === next.process.pid ? [`step:${name}`] : []))
      const all = Array.from({ length: STEPS }, (_, i) => `step:${i}`)
      expect(after).toEqual(all.slice(recorded.length))
      // The store that was backed up is as its worker left it.
      expect(await store.run("work")).toMatchObject({ status: "running" })
      expect(await store.run("question")).toMatchObject({ status: "waiting" })
      await copy.close()
    },
  )
}
