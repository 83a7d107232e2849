import { slotTest } from "../fleet/slot-suite.ts"
import { newAddress } from "./schemas.test-support.ts"

slotTest(newAddress)
