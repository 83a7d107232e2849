import { hostname } from "node:os"
import type { Holder, StoredRun } from "@superstep/engine"
import { expect, test } from "vitest"
import { livingHolder, machineOf } from "./living-holder.ts"

const HOLDER: Holder = { id: "h", machine: `${hostname()} here`, pid: process.pid, beat: 1, until: 2_000 }
/** No process has such an id. */
const GONE = 99_999_999

async function found(holder: Partial<Holder>): Promise<boolean> {
  const store = { holders: async () => [{ ...HOLDER, ...holder }] }
  return (await livingHolder(store, { holder: "h" } as StoredRun, 1_000)) !== undefined
}

test.each<[string, Partial<Holder>, boolean]>([
  ["is alive", {}, true],
  ["was not heard of for too long", { until: 999 }, false],
  ["was killed", { pid: GONE }, false],
  ["is on another machine, where its process cannot be seen", { machine: "elsewhere x", pid: GONE }, true],
  ["is another run's", { id: "other" }, false],
])("a process that %s", async (_, holder, isFound) => expect(await found(holder)).toBe(isFound))

test("a run that nobody has has no process", async () => {
  expect(await livingHolder({ holders: async () => [HOLDER] }, {} as StoredRun, 1_000)).toBeUndefined()
})

test("a machine is shown by its name", () => expect(machineOf(HOLDER)).toBe(hostname()))
