import swcJest from '@swc/jest';
import { changed, type Mutant } from './rule.js';

type Transformer = ReturnType<typeof swcJest.createTransformer>;

export interface ChangingOptions {
  /** The options of @swc/jest. */
  readonly swc: Parameters<typeof swcJest.createTransformer>[0];
  /** The change in one source file. `file` is an absolute path. */
  readonly change?: Pick<Mutant, 'file' | 'from' | 'to'>;
}

/** The transformer of Jest for the whole repository, with one change in one source. No file changes on disk. */
export function createTransformer({ swc, change }: ChangingOptions): Transformer {
  const plain = swcJest.createTransformer(swc);
  if (!change) return plain;
  const { process, processAsync, getCacheKey } = plain;
  const seen = (source: string, file: string) => (file === change.file ? changed(source, change) : source);
  return {
    ...plain,
    process: (source, file, options) => process!(seen(source, file), file, options),
    processAsync: (source, file, options) => processAsync!(seen(source, file), file, options),
    // The key is that of the changed source. So runs with and without the change never share an entry of the cache.
    getCacheKey: (source, file, options) => getCacheKey!(seen(source, file), file, options),
  };
}

// Jest uses the default export if it imports this module, and the name above if it requires it.
export default { createTransformer };
