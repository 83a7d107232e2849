/** Records in the file: what becomes of damage. */
import { describe, expect, test } from "vitest"
import { checkStoreFile, type Damage } from "./repair/check-store.ts"
import { salvageStore } from "./repair/salvage.ts"
import { alter, drivers, freshPath, openStore } from "./stores.test-support.ts"

describe.each(drivers)("records by $name", ({ driver }) => {
  test.each(['value = \'{"role":"admin"}\'', "version = 7", "id = 'other'"])(
    "a record with another %s is reported as damaged, and not salvaged",
    async (change) => {
      const path = freshPath()
      const store = openStore(path, driver)
      await store.records.put("api-key", "sound", { role: "viewer" }, null)
      await store.records.put("api-key", "damaged", { role: "viewer" }, null)
      await store.close()
      alter(path, driver, (database) => database.exec(`UPDATE records SET ${change} WHERE id = 'damaged'`))

      const reopened = openStore(path, driver)
      await expect(reopened.records.list("api-key")).rejects.toMatchObject({ code: "STORE_CORRUPT" })
      expect(await reopened.records.get("api-key", "sound")).toMatchObject({ value: { role: "viewer" } })
      await reopened.close()

      const found: Damage[] = []
      for await (const damage of checkStoreFile(path)) found.push(damage)
      expect(found).toMatchObject([{ part: "records", message: expect.stringContaining("api-key") }])

      const to = freshPath()
      const { problems } = await salvageStore({ from: path, to, driver })
      expect(problems).toEqual([expect.stringContaining("api-key")])
      const salvaged = openStore(to, driver)
      expect((await salvaged.records.list("api-key")).map(({ id }) => id)).toEqual(["sound"])
      await salvaged.close()
    },
  )
})
