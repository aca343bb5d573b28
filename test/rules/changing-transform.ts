import swcJest from '@swc/jest';
import { changed, type Mutant } from './rule.js';

type Transformer = ReturnType<typeof swcJest.createTransformer>;

export interface ChangingOptions {
  /** What @swc/jest is given otherwise. */
  readonly swc: Parameters<typeof swcJest.createTransformer>[0];
  /** Made in one source on its way into the tests; `file` is absolute. */
  readonly change?: Pick<Mutant, 'file' | 'from' | 'to'>;
}

/** Jest's transformer for the whole repository, with one change in one file. The tree stays as it is. */
export function createTransformer({ swc, change }: ChangingOptions): Transformer {
  const plain = swcJest.createTransformer(swc);
  if (!change) return plain;
  const { process, processAsync, getCacheKey } = plain;
  const seen = (source: string, file: string) => (file === change.file ? changed(source, change) : source);
  return {
    ...plain,
    process: (source, file, options) => process!(seen(source, file), file, options),
    processAsync: (source, file, options) => processAsync!(seen(source, file), file, options),
    // By what the file is then: neither this run nor the next one takes the other's for it.
    getCacheKey: (source, file, options) => getCacheKey!(seen(source, file), file, options),
  };
}

// Jest looks here where it imports this module, and for the name above where it requires it.
export default { createTransformer };
