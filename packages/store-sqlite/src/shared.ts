/** For Superstep's own packages that keep a SQLite file too. Not for others: it changes without notice. */
export { type Database, preparedOnce, resultCode, type Statement } from "./driver.ts"
export {
  type CheckedStore,
  type CheckProgress,
  checkStoreFile,
  type Damage,
  type Salvaged,
  type SalvagedRun,
  type SalvageOptions,
  salvageStore,
} from "./maintenance.ts"
export { type FileOptions, type OpenFile, openSqliteFile } from "./sqlite-file.ts"
