/** Packages that users install only if they need them. For the packages of this repository. */
export {
  importOptional,
  type OptionalPackage,
  requireAt,
  requireFrom,
  requireOptional,
  resolveOptional,
} from "./optional-package.ts"
