/**
 * What every store has to do, as a list of cases for any test runner:
 *
 *     for (const { name, run } of storeSuite(() => myStore())) test(name, run)
 */
import assert from "node:assert/strict"
import { isSuperstepError, type Json } from "../core/index.ts"
import type { JournalRecord, Store } from "../runtime/index.ts"

export interface StoreCase {
  readonly name: string
  readonly run: () => Promise<void>
}

export interface StoreSuiteOptions<S extends Store> {
  /** Called when a case is over, with the store that it had. */
  dispose?(store: S): unknown
}

/** `make` gives an empty store, a new one for each case. */
export function storeSuite<S extends Store>(
  make: () => S | Promise<S>,
  options: StoreSuiteOptions<S> = {},
): readonly StoreCase[] {
  return Object.entries(CASES).map(([name, check]) => ({
    name,
    async run() {
      const store = await make()
      try {
        await check(store)
      } finally {
        await options.dispose?.(store)
      }
    },
  }))
}

const CASES: { readonly [name: string]: (store: Store) => Promise<void> } = {
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
    assert.deepEqual(await store.read("unknown", 3), [])
  },

  async "gives only the records after the one that was asked for"(store) {
    const all = records(1, 5)
    await append(store, "r", 0, all)
    for (let after = 0; after <= 5; after++) assert.deepEqual(await store.read("r", after), all.slice(after))
    assert.deepEqual(await store.read("r", 9), [])
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

  async "refuses an append past the end of an empty journal, and changes nothing"(store) {
    await conflicts(store, "r", 1, records(2, 1))
    await holds(store, "r", [])
    await append(store, "r", 0, records(1, 1))
    await holds(store, "r", records(1, 1))
  },

  async "takes several records all or none"(store) {
    const winner = records(1, 3, "winner")
    const outcomes = await Promise.allSettled([
      append(store, "r", 0, winner),
      append(store, "r", 0, records(1, 5, "loser")),
    ])
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ["fulfilled", "rejected"],
    )
    await holds(store, "r", winner)
  },

  async "takes one of many appends that are made at once after the same record"(store) {
    await append(store, "r", 0, records(1, 1))
    const rivals = Array.from({ length: 20 }, (_, i) => records(2, 2, `rival ${i}`))
    const outcomes = await Promise.allSettled(rivals.map((rival) => append(store, "r", 1, rival)))
    const won = outcomes.flatMap(({ status }, i) => (status === "fulfilled" ? [i] : []))
    assert.equal(won.length, 1)
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") assert.ok(isSuperstepError(outcome.reason, "JOURNAL_CONFLICT"))
    }
    await holds(store, "r", [...records(1, 1), ...(rivals[won[0] as number] as JournalRecord[])])
  },

  async "does not let one run's refusal touch another's append"(store) {
    await append(store, "taken", 0, records(1, 1))
    const outcomes = await Promise.allSettled([
      append(store, "before", 0, records(1, 2)),
      append(store, "taken", 0, records(1, 2)),
      append(store, "after", 0, records(1, 2)),
    ])
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ["fulfilled", "rejected", "fulfilled"],
    )
    await holds(store, "before", records(1, 2))
    await holds(store, "taken", records(1, 1))
    await holds(store, "after", records(1, 2))
  },

  async "keeps the journals of several runs apart, whatever their ids"(store) {
    const ids = ["a", "A", "a ", "", "a/b", "a%", "_", "'; --", '"', "\\", "é", "e\u0301", "\u0000", "\ud800"]
    for (const id of ids) await append(store, id, 0, records(1, 1, id))
    for (const id of ids) await append(store, id, 1, records(2, 1, id))
    for (const id of ids) await holds(store, id, records(1, 2, id))
  },

  async "keeps the frame and the number of events of every record"(store) {
    const all = ["", "2", "2/call", 'quo"te \\', "é \ud83d\ude00", "\ud800", "\u0000"].map((frame, i) => ({
      ...record(i + 1, null),
      frame,
      events: i * 1_000_000_007,
    }))
    await append(store, "r", 0, all)
    await holds(store, "r", all)
  },

  async "keeps values of every kind that JSON has"(store) {
    await keeps(store, VALUES)
  },

  async "keeps text as it is: any script, controls, lone surrogates, what looks like code"(store) {
    await keeps(store, TEXTS)
    await append(store, "keys", 0, [
      record(1, Object.fromEntries(TEXTS.map((text, i) => [`${i}${text}`, text]))),
    ])
    await holds(store, "keys", [record(1, Object.fromEntries(TEXTS.map((text, i) => [`${i}${text}`, text])))])
  },

  async "keeps a value of a megabyte"(store) {
    await keeps(store, ["0123456789abcdef".repeat(65_536), Array.from({ length: 100_000 }, (_, i) => i)])
  },

  async "keeps a value that is nested 400 deep"(store) {
    let deep: Json = "bottom"
    for (let i = 0; i < 200; i++) deep = [{ deeper: deep }]
    await keeps(store, [deep])
  },

  async "keeps 10,000 records of one run"(store) {
    const all = records(1, 10_000)
    for (let seq = 0; seq < all.length; seq += 500) await append(store, "r", seq, all.slice(seq, seq + 500))
    await holds(store, "r", all)
    assert.deepEqual(await store.read("r", 9_990), all.slice(9_990))
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
      assert.deepEqual(await store.read("r", seq), records(seq + 1, 1))
    }
  },

  async "gives what it had at the time: a later append does not change what was read"(store) {
    await append(store, "r", 0, records(1, 2))
    const before = await store.read("r", 0)
    await append(store, "r", 2, records(3, 2))
    assert.deepEqual(before, records(1, 2))
  },
}

const VALUES: readonly Json[] = [
  null,
  true,
  false,
  0,
  -1,
  0.1,
  1e300,
  5e-324,
  Number.MAX_SAFE_INTEGER,
  "",
  "text",
  [],
  {},
  [null, [true, [0, ["x", [{}]]]]],
  { a: { b: { c: [1, { d: null }] } }, "": "empty key", "a.b": 1, constructor: "x", toString: 1 },
]

const TEXTS: readonly string[] = [
  "日本語 العربية ελληνικά",
  "\ud83d\udc69\u200d\ud83d\ude80 \ud83d\ude00",
  "e\u0301 is not é",
  "\ud800",
  "a \udfff b",
  "\u0000 \u0001 \u001f \u007f \u2028 \u2029 \ufeff \uffff",
  "line\nbreak\r\n\ttab",
  '"quoted" \\ back \\u0041 \\',
  "__proto__",
  '{"__proto__":{"polluted":true}}',
  "'; DROP TABLE runs; --",
  "$1 ? :name @name %s {{ y }}",
]

function record(seq: number, value: Json): JournalRecord {
  return {
    seq,
    frame: "",
    entry: { type: "step.recorded", at: 1_700_000_000_000 + seq, task: 1, key: `step ${seq}`, value },
    events: seq * 2,
  }
}

function records(first: number, count: number, value: Json = "value"): JournalRecord[] {
  return Array.from({ length: count }, (_, i) => record(first + i, value))
}

async function append(
  store: Store,
  runId: string,
  expectedSeq: number,
  added: readonly JournalRecord[],
): Promise<void> {
  await store.append(runId, expectedSeq, added)
}

async function holds(store: Store, runId: string, expected: readonly JournalRecord[]): Promise<void> {
  assert.deepEqual(await store.read(runId, 0), expected)
}

async function keeps(store: Store, values: readonly Json[]): Promise<void> {
  const all = values.map((value, i) => record(i + 1, value))
  await append(store, "r", 0, all)
  await holds(store, "r", all)
}

async function conflicts(
  store: Store,
  runId: string,
  expectedSeq: number,
  added: readonly JournalRecord[],
): Promise<void> {
  await assert.rejects(
    append(store, runId, expectedSeq, added),
    (error) => isSuperstepError(error, "JOURNAL_CONFLICT"),
    "an append that does not follow the last record is refused with JOURNAL_CONFLICT",
  )
}
