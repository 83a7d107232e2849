/** Stores whose process can be made to die at any statement. */
import type { Database, Driver, Statement } from "./file/driver.ts"
import type { StoreKeys } from "./open-store.ts"
import type { SqliteStore } from "./sqlite-store.ts"
import { emptyPath, freshPath, openStore } from "./stores.test-support.ts"

interface Life {
  readonly path: string
  /** How many more statements reach the file. */
  left: number
  isOver: boolean
  end(): void
}

/** For the store suite: makes stores, lets them die, and opens their files again. */
export function mortalStores(driver: Driver, keys?: StoreKeys) {
  const lives = new WeakMap<SqliteStore, Life>()
  const lifeOf = (store: SqliteStore) => lives.get(store) as Life
  return {
    make(): SqliteStore {
      const path = keys === undefined ? emptyPath(driver) : freshPath()
      const life: Life = { path, left: Number.POSITIVE_INFINITY, isOver: false, end: () => undefined }
      const store = openStore(path, (file) => mortal(driver(file), life), 0, keys)
      lives.set(store, life)
      return store
    },
    async dispose(store: SqliteStore): Promise<void> {
      if (!lifeOf(store).isOver) await store.close()
    },
    reopen: (store: SqliteStore) => openStore(lifeOf(store).path, driver, 0, keys),
    interrupt: {
      after(store: SqliteStore, writes: number): void {
        lifeOf(store).left = writes
      },
      reopen(store: SqliteStore): SqliteStore {
        const life = lifeOf(store)
        life.isOver = true
        life.end()
        return openStore(life.path, driver, 0, keys)
      },
    },
  }
}

function mortal(database: Database, life: Life): Database {
  life.end = () => {
    // The next process finds the write-ahead log without a commit. A closed libsql connection keeps its lock for a while.
    if (inTransaction) database.exec("ROLLBACK")
    database.close()
  }
  let inTransaction = false
  const live = () => {
    if (life.left <= 0) throw new Error("The process of this test is dead.")
    life.left--
  }
  return {
    exec(sql) {
      live()
      const done = database.exec(sql)
      if (/^\s*(BEGIN|COMMIT|ROLLBACK)\b/i.test(sql)) inTransaction = /^\s*BEGIN/i.test(sql)
      return done
    },
    prepare(sql) {
      const statement = database.prepare(sql)
      const isRead = /^\s*(SELECT|WITH|PRAGMA)\b/i.test(sql)
      const made: Statement = {
        run(...values) {
          live()
          return statement.run(...values)
        },
        all(...values) {
          if (!isRead) live()
          return statement.all(...values)
        },
      }
      return made
    },
    close: () => (life.isOver ? undefined : database.close()),
  }
}
