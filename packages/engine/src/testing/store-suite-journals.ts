/** Store suite: journals. What is appended is read, in order, once, all or none. */
import assert from "node:assert/strict"
import type { JournalRecord, Store } from "../runtime/index.ts"
import { atOnce, holds, leaseOf, record, records, rejects, type StoreCases } from "./store-suite-steps.ts"

export const journalCases: StoreCases = {
  async "gives records back in the order in which they were appended"(store) {
    const all = records(1, 5)
    await append(store, "r", 0, all.slice(0, 1))
    await append(store, "r", 1, all.slice(1, 4))
    await append(store, "r", 4, all.slice(4))
    await holds(store, "r", all)
  },

  async "has no records of a run that it does not know"(store) {
    await append(store, "known", 0, records(1, 1))
    await holds(store, "unknown", [])
    await holds(store, "unknown", [], 3)
  },

  async "gives only the records after the one that was asked for"(store) {
    const all = records(1, 5)
    await append(store, "r", 0, all)
    for (let after = 0; after <= 5; after++) await holds(store, "r", all.slice(after), after)
    await holds(store, "r", [], 9)
  },

  async "refuses an append after a record that is not the last, and changes nothing"(store) {
    const all = records(1, 3)
    await append(store, "r", 0, all)
    await conflicts(store, "r", 0, records(1, 1))
    await conflicts(store, "r", 2, records(3, 2))
    await holds(store, "r", all)
  },

  async "refuses an append past the end, and changes nothing"(store) {
    const all = records(1, 3)
    await append(store, "r", 0, all)
    await conflicts(store, "r", 4, records(5, 2))
    await holds(store, "r", all)
    await append(store, "r", 3, records(4, 1))
    await holds(store, "r", records(1, 4))
  },

  async "refuses an append to a run that there is not, and makes none"(store) {
    await conflicts(store, "r", 0, records(1, 1))
    await conflicts(store, "r", 1, records(2, 1))
    await conflicts(store, "r", 0, [])
    await holds(store, "r", [])
    assert.equal(await store.run("r"), undefined)
    await append(store, "r", 0, records(1, 1))
    await holds(store, "r", records(1, 1))
  },

  async "takes several records all or none"(store) {
    await append(store, "r", 0, records(1, 1))
    const rivals = [records(2, 3, "three"), records(2, 5, "five")]
    const won = await atOnce(
      rivals.map((rival) => () => append(store, "r", 1, rival)),
      "JOURNAL_CONFLICT",
    )
    assert.equal(won.length, 1)
    await holds(store, "r", [...records(1, 1), ...(rivals[won[0] as number] as JournalRecord[])])
  },

  async "takes one of many appends that are made at once after the same record"(store) {
    await append(store, "r", 0, records(1, 1))
    const rivals = Array.from({ length: 20 }, (_, i) => records(2, 2, `rival ${i}`))
    const won = await atOnce(
      rivals.map((rival) => () => append(store, "r", 1, rival)),
      "JOURNAL_CONFLICT",
    )
    assert.equal(won.length, 1)
    await holds(store, "r", [...records(1, 1), ...(rivals[won[0] as number] as JournalRecord[])])
  },

  async "does not let one run's refusal touch another's append"(store) {
    await append(store, "taken", 0, records(1, 1))
    const won = await atOnce(
      ["before", "taken", "after"].map((runId) => () => append(store, runId, 0, records(1, 2))),
      "RUN_EXISTS",
    )
    assert.deepEqual(won, [0, 2])
    await holds(store, "before", records(1, 2))
    await holds(store, "taken", records(1, 1))
    await holds(store, "after", records(1, 2))
  },

  async "keeps the frame and the number of events of every record"(store) {
    const frames = ["", "2", "2/call", 'quo"te \\', "é \ud83d\ude00", "\ud800", "\u0000"]
    const all = frames.map((frame, i) => ({ ...record(i + 1, null), frame, events: i * 1_000_000_007 }))
    await append(store, "r", 0, all)
    await holds(store, "r", all)
  },

  async "keeps 10,000 records of one run"(store) {
    const all = records(1, 10_000)
    for (let seq = 0; seq < all.length; seq += 500) await append(store, "r", seq, all.slice(seq, seq + 500))
    await holds(store, "r", all)
    await holds(store, "r", all.slice(9_990), 9_990)
  },

  async "takes appends to many runs at once"(store) {
    const ids = Array.from({ length: 100 }, (_, i) => `run ${i}`)
    await Promise.all(
      ids.map(async (id) => {
        for (let seq = 0; seq < 10; seq++) await append(store, id, seq, records(seq + 1, 1, id))
      }),
    )
    for (const id of ids) await holds(store, id, records(1, 10, id))
  },

  async "has what it acknowledged: it can be read as soon as the append is done"(store) {
    for (let seq = 0; seq < 20; seq++) {
      await append(store, "r", seq, records(seq + 1, 1))
      await holds(store, "r", records(seq + 1, 1), seq)
    }
  },

  async "gives what it had at the time: a later append does not change what was read"(store) {
    await append(store, "r", 0, records(1, 2))
    const before = await store.read("r", 0)
    await append(store, "r", 2, records(3, 2))
    assert.deepEqual(before, records(1, 2))
  },

  async "writes what still waits to be written when it is closed"(store) {
    const appended = append(store, "r", 0, records(1, 3))
    await store.close()
    await appended
  },
}

/** Makes the run with its first records. */
async function append(
  store: Store,
  runId: string,
  expectedSeq: number,
  added: readonly JournalRecord[],
): Promise<void> {
  const change = expectedSeq === 0 ? { created: { workflow: "workflow", graph: "graph" } } : undefined
  await store.append(leaseOf(runId), expectedSeq, added, change)
}

async function conflicts(
  store: Store,
  runId: string,
  expectedSeq: number,
  added: readonly JournalRecord[],
): Promise<void> {
  await rejects(() => store.append(leaseOf(runId), expectedSeq, added), "JOURNAL_CONFLICT")
}
