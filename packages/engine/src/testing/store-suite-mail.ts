/** Store suite: mail to whoever holds a run. In order, until it has an outcome; the outcome once. */
import assert from "node:assert/strict"
import type { Mail, MailOutcome, Store } from "../runtime/index.ts"
import {
  end,
  leaseOf,
  mailTo,
  plain,
  records,
  rejects,
  START,
  type StoreCases,
  start,
  take,
  write,
} from "./store-suite-steps.ts"
import { VALUES } from "./store-suite-values.ts"

const REFUSED = { code: "NOT_OPEN", message: "It is not open." }

export const mailCases: StoreCases = {
  async "gives a holder the mail to its runs, in the order in which it was posted"(store) {
    await start(store, "a", { holder: "me" })
    await start(store, "b", { holder: "me" })
    await start(store, "c", { holder: "other" })
    // Ids and times go the other way: neither makes the order.
    const ids = ["9", "8", "7", "6", "5", "4"]
    for (const [i, id] of ids.entries()) {
      await store.post(mailTo(["a", "b", "c"][i % 3] as string, id, { at: START - i }))
    }
    assert.deepEqual(await mailIds(store, "me"), ["9", "8", "6", "5"])
    assert.deepEqual(await mailIds(store, "other"), ["7", "4"])
    assert.deepEqual(await mailIds(store, "nobody"), [])
  },

  async "keeps mail as it was posted"(store) {
    await start(store, "r")
    const wishes: Mail["wish"][] = [
      { type: "cancel" },
      { type: "cancel", reason: "no longer needed" },
      { type: "answer", request: "q", value: true, by: "anna" },
      ...VALUES.map((value) => ({ type: "answer" as const, request: "q", value })),
    ]
    const posted = wishes.map((wish, i) => mailTo("r", `${i}`, { wish, at: START + i }))
    for (const mail of posted) await store.post(mail)
    assert.deepEqual(plain(await store.mail("holder")), posted)
  },

  async "gives mail again until it has an outcome, and then no more"(store) {
    await start(store, "r")
    await store.post(mailTo("r", "one"))
    await store.post(mailTo("r", "two"))
    assert.deepEqual(await mailIds(store, "holder"), ["one", "two"])
    assert.deepEqual(await mailIds(store, "holder"), ["one", "two"])
    await store.refuseMail(leaseOf("r"), "one", REFUSED)
    assert.deepEqual(await mailIds(store, "holder"), ["two"])
    await store.mailOutcome("one")
    assert.deepEqual(await mailIds(store, "holder"), ["two"])
  },

  async "tells the outcome of mail once, and nothing as long as there is none"(store) {
    const lease = await start(store, "r")
    const outcomes: [MailOutcome, (id: string) => unknown][] = [
      [{ ok: true }, (id) => write(store, lease, { mail: [id] })],
      [{ ok: false, ...REFUSED }, (id) => store.refuseMail(lease, id, REFUSED)],
    ]
    for (const [i, [outcome, settle]] of outcomes.entries()) {
      const id = `mail ${i}`
      assert.equal(await store.mailOutcome(id), undefined)
      await store.post(mailTo("r", id))
      assert.equal(await store.mailOutcome(id), undefined)
      await settle(id)
      assert.deepEqual(await store.mailOutcome(id), outcome)
      assert.equal(await store.mailOutcome(id), undefined)
    }
  },

  async "settles mail with the records that carry it out, all or none"(store) {
    const old = await start(store, "r", { holder: "first" })
    await store.post(mailTo("r", "mail"))
    const now = await take(store, "r", "second")
    await rejects(() => store.append(old, 1, records(2, 1), { mail: ["mail"] }), "RUN_TAKEN")
    assert.equal(await store.mailOutcome("mail"), undefined)
    assert.deepEqual(await mailIds(store, "second"), ["mail"])
    await store.append(now, 1, records(2, 1), { mail: ["mail", "never posted"] })
    assert.deepEqual(await mailIds(store, "second"), [])
    assert.deepEqual(await store.mailOutcome("mail"), { ok: true })
  },

  async "lets nobody refuse mail whose lease is no longer good, or that is settled"(store) {
    const old = await start(store, "r", { holder: "first" })
    await store.post(mailTo("r", "mail"))
    const now = await take(store, "r", "second")
    await store.refuseMail(old, "mail", REFUSED)
    assert.equal(await store.mailOutcome("mail"), undefined)
    await write(store, now, { mail: ["mail"] })
    await store.refuseMail(now, "mail", REFUSED)
    assert.deepEqual(await store.mailOutcome("mail"), { ok: true })
  },

  async "tells an outcome to one of many that ask at once"(store) {
    const lease = await start(store, "r")
    await store.post(mailTo("r", "mail"))
    await write(store, lease, { mail: ["mail"] })
    const told = await Promise.all(Array.from({ length: 10 }, async () => store.mailOutcome("mail")))
    assert.deepEqual(plain(told.filter((outcome) => outcome !== undefined)), [{ ok: true }])
  },

  async "gives the mail of a run to whoever holds it now"(store) {
    const first = await start(store, "r", { holder: "first" })
    await store.post(mailTo("r", "mail"))
    await take(store, "r", "second")
    assert.deepEqual(await mailIds(store, "first"), [])
    assert.deepEqual(await mailIds(store, "second"), ["mail"])
    await store.release({ ...first, holder: "second", token: 2 }, undefined)
    assert.deepEqual(await mailIds(store, "second"), [])
    await take(store, "r", "third")
    assert.deepEqual(await mailIds(store, "third"), ["mail"])
  },

  async "keeps mail to a run that nobody holds for who claims it"(store) {
    await store.release(await start(store, "r", { change: { status: "waiting" } }), undefined)
    await store.post(mailTo("r", "one"))
    await store.post(mailTo("r", "two"))
    await take(store, "r", "me")
    assert.deepEqual(await mailIds(store, "me"), ["one", "two"])
  },

  async "gives nobody the mail to a run that is over"(store) {
    await end(store, await start(store, "r"))
    await store.post(mailTo("r", "mail"))
    assert.deepEqual(await mailIds(store, "holder"), [])
    const free = await store.free({ workflows: ["workflow"], now: START, limit: 10, suspects: false })
    assert.deepEqual(free, [])
  },

  async "takes mail to a run that there is not, and outcomes of mail that there is not"(store) {
    await store.post(mailTo("unknown", "mail"))
    await store.refuseMail(leaseOf("unknown"), "mail", REFUSED)
    assert.deepEqual(await store.mail("holder"), [])
    assert.equal(await store.mailOutcome("mail"), undefined)
  },
}

async function mailIds(store: Store, holder: string): Promise<string[]> {
  return (await store.mail(holder)).map((mail) => mail.id)
}
