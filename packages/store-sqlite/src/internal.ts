/**
 * Private. For Superstep's own packages that keep a SQLite file too, or check a store. It changes without notice and is
 * no part of the documented API.
 */

export {
  type Database,
  libsqlPath,
  nodeSqlite,
  preparedOnce,
  resultCode,
  type Statement,
} from "./file/driver.ts"
export { type FileOptions, type OpenFile, openSqliteFile } from "./file/sqlite-file.ts"
export { type CheckedStore, type CheckProgress, checkStoreFile, type Damage } from "./repair/check-store.ts"
export { type Salvaged, type SalvagedRun, type SalvageOptions, salvageStore } from "./repair/salvage.ts"
