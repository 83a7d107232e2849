import { queueTest } from "../fleet/queue-suite.ts"
import { newAddress } from "./schemas.test-support.ts"

queueTest(newAddress)
