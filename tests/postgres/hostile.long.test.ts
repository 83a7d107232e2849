/** The tests of blocked, stopped and killed workers, on PostgreSQL. */
import { useStores } from "../hostile/workers.ts"
import { newAddress } from "./schemas.test-support.ts"

useStores(newAddress)
await import("../hostile/blocked.long.test.ts")
await import("../hostile/culprit.long.test.ts")
await import("../hostile/day.long.test.ts")
await import("../hostile/mail.long.test.ts")
