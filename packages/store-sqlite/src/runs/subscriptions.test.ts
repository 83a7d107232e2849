/** Events and consumers in a file that is damaged, or repaired. */
import { describe, expect, test } from "vitest"
import type { Driver } from "../file/driver.ts"
import { checkStore, type Damage } from "../repair/check-store.ts"
import { salvageStore } from "../repair/salvage.ts"
import {
  alter,
  created,
  drivers,
  freshPath,
  lease,
  open,
  openStore,
  records,
  storeOver,
} from "../stores.test-support.ts"

const holder = { id: "h", machine: "m", pid: 1, born: "" }

/** Three events, of which the consumer has handled the first. */
async function filled(driver: Driver): Promise<string> {
  const path = freshPath()
  const store = openStore(path, driver)
  for (const runId of ["a", "b", "c"]) await store.append(lease(runId), 0, records(1, 1), created())
  await store.subscriptions.add("c", "beginning")
  await store.beat(holder)
  const claimed = await store.subscriptions.claim("c", "h")
  if (claimed !== undefined) await store.subscriptions.advance(claimed.lease, { position: 1 })
  await store.close()
  return path
}

async function damagesOf(path: string, driver: Driver): Promise<Damage[]> {
  const database = open(path, driver)
  const store = storeOver(database)
  const found: Damage[] = []
  for await (const damage of checkStore(database, store)) found.push(damage)
  await store.close()
  return found
}

describe.each(drivers)("subscriptions by $name", ({ driver }) => {
  test("report a damaged event and a damaged consumer, and check the others", async () => {
    const path = await filled(driver)
    expect(await damagesOf(path, driver)).toEqual([])
    alter(path, driver, (database) => {
      database.exec("UPDATE events SET run_id = 'x' WHERE id = 2")
      database.exec("UPDATE consumers SET position = 3")
    })
    expect(await damagesOf(path, driver)).toMatchObject([
      { part: "subscriptions", message: expect.stringMatching(/^Consumer "c" is damaged: its checksum/) },
      { part: "subscriptions", message: expect.stringMatching(/^Event 2 is damaged: its checksum/) },
    ])
    const store = openStore(path, driver)
    await expect(store.subscriptions.events(0, 10)).rejects.toMatchObject({ code: "STORE_CORRUPT" })
    await expect(store.subscriptions.claim("c", "other")).rejects.toMatchObject({ code: "STORE_CORRUPT" })
    await store.close()
  })

  test("are recovered with the positions of consumers, which no later event gets again", async () => {
    const path = await filled(driver)
    alter(path, driver, (database) => database.exec("UPDATE events SET body = '{' WHERE id = 3"))
    const to = freshPath()
    const { problems } = await salvageStore({ from: path, to, driver })
    expect(problems).toEqual([expect.stringMatching(/^Event 3 is damaged/)])
    const store = openStore(to, driver)
    expect(await store.subscriptions.consumers()).toMatchObject([{ consumer: "c", position: 1, lag: 1 }])
    expect(await store.subscriptions.events(1, 10)).toMatchObject([{ runId: "b", position: 2 }])
    await store.close()
  })

  test("give no position that a consumer has passed, also where the number of the last one is damaged", async () => {
    const path = await filled(driver)
    const before = openStore(path, driver)
    const claimed = await before.subscriptions.claim("c", "h")
    if (claimed !== undefined) await before.subscriptions.advance(claimed.lease, { position: 3 })
    await before.subscriptions.trim(0)
    expect(await before.subscriptions.events(0, 10)).toEqual([])
    await before.close()
    alter(path, driver, (database) => database.exec("UPDATE event_end SET last = 0"))
    const store = openStore(path, driver)
    await store.append(lease("d"), 0, records(1, 1), created())
    expect(await store.subscriptions.events(0, 10)).toMatchObject([{ runId: "d", position: 4 }])
    await store.close()
  })
})
