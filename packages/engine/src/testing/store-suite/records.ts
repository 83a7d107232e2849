/** Store suite: records, small documents by kind and id (D1, D2 of the port). */
import assert from "node:assert/strict"
import type { Json } from "../../core/index.ts"
import type { RecordQuery, Store } from "../../runtime/index.ts"
import { plain, type StoreCases } from "./steps.ts"

async function idsOf(store: Store, query?: RecordQuery): Promise<readonly string[]> {
  return (await store.records.list("kind", query)).map(({ id }) => id)
}

async function fill(store: Store, ids: readonly string[]): Promise<void> {
  for (const id of ids) assert.equal(await store.records.put("kind", id, { id }, null), true)
}

export const recordCases: StoreCases = {
  async "keeps a record as it was written, and removes it"(store) {
    const { records } = store
    const values: Json[] = [null, 0, "", [1.5, "\u0000\ud800"], { a: { b: ["é", true] } }]
    for (const [i, value] of values.entries()) {
      const [kind, id] = [`kind "${i}"\u0000`, `id '${i}'\ud800`]
      assert.equal(await records.get(kind, id), undefined)
      assert.equal(await records.put(kind, id, value, null), true)
      assert.deepEqual(plain(await records.get(kind, id)), { kind, id, value, version: 1 })
      assert.equal(await records.remove(kind, id), true)
      assert.equal(await records.get(kind, id), undefined)
      assert.equal(await records.remove(kind, id), false)
    }
  },

  async "separates kinds"(store) {
    const { records } = store
    await records.put("kind", "id", 1, null)
    assert.equal(await records.get("other", "id"), undefined)
    assert.equal(await records.put("other", "id", 2, null), true)
    assert.equal(await records.remove("other", "id"), true)
    assert.equal((await records.get("kind", "id"))?.value, 1)
    assert.deepEqual(await records.list("other"), [])
  },

  async "writes and removes only in the version that was read (D1)"(store) {
    const { records } = store
    assert.equal(await records.put("kind", "id", 0, 1), false)
    assert.equal(await records.get("kind", "id"), undefined)
    assert.equal(await records.put("kind", "id", 1, null), true)
    assert.equal(await records.put("kind", "id", 9, null), false)
    assert.equal(await records.put("kind", "id", 2, 1), true)
    assert.equal(await records.put("kind", "id", 9, 1), false)
    assert.deepEqual(plain(await records.get("kind", "id")), { kind: "kind", id: "id", value: 2, version: 2 })
    assert.equal(await records.remove("kind", "id", 1), false)
    assert.equal((await records.get("kind", "id"))?.value, 2)
    assert.equal(await records.remove("kind", "id", 2), true)
    assert.equal(await records.put("kind", "id", 3, 2), false)
    assert.equal(await records.get("kind", "id"), undefined)
  },

  async "lets one of many write at once (D1)"(store) {
    const { records } = store
    const writers = Array.from({ length: 10 }, (_, i) => i)
    for (const expected of [null, 1, 2]) {
      const written = await Promise.all(writers.map((i) => records.put("kind", "id", i, expected)))
      assert.equal(written.filter(Boolean).length, 1)
      assert.equal((await records.get("kind", "id"))?.value, written.indexOf(true))
    }
  },

  async "lists records by id, in pages, and by prefix (D2)"(store) {
    await fill(store, ["b", "a", "b:2", "é", "b:1", "B", "🙂", "\uffee", "b%", "c"])
    const all = ["B", "a", "b", "b%", "b:1", "b:2", "c", "é", "\uffee", "🙂"]
    assert.deepEqual(await idsOf(store), all)
    for (const [i, after] of all.entries()) {
      assert.deepEqual(await idsOf(store, { after, limit: 2 }), all.slice(i + 1, i + 3))
    }
    assert.deepEqual(await idsOf(store, { after: "b9" }), ["b:1", "b:2", "c", "é", "\uffee", "🙂"])
    assert.deepEqual(await idsOf(store, { prefix: "b" }), ["b", "b%", "b:1", "b:2"])
    assert.deepEqual(await idsOf(store, { prefix: "b:", after: "b:1" }), ["b:2"])
    assert.deepEqual(await idsOf(store, { prefix: "%" }), [])
    assert.deepEqual(await idsOf(store, { limit: 0 }), [])
  },

  async "is not changed when a caller changes a value that it passed"(store) {
    const value = { list: [1] }
    await store.records.put("kind", "id", value, null)
    value.list.push(2)
    assert.deepEqual(plain((await store.records.get("kind", "id"))?.value), { list: [1] })
  },
}
