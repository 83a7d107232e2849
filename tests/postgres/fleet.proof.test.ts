import { inject } from "vitest"
import { fleetTest } from "../fleet/fleet-suite.ts"
import { newAddress } from "./schemas.test-support.ts"

fleetTest(inject("isProof") ? { runs: 150, kills: 30 } : { runs: 18, kills: 2 }, newAddress)
