/** Loads packages an application installs if it needs them. */
import { createRequire } from 'node:module';
import { KqError, toError } from '../errors.js';

const load = createRequire(import.meta.url);

/** Loads a package; throws `KQ_CONFIG` with what to install. */
export function loadPeer(name: string, what: string): unknown {
  try {
    return load(name);
  } catch (thrown) {
    const cause = toError(thrown);
    const isMissing = 'code' in cause && cause.code === 'MODULE_NOT_FOUND';
    const reason = isMissing ? 'is not installed' : `cannot be loaded: ${cause.message}`;
    throw new KqError(
      'KQ_CONFIG',
      `${what} needs the package ${name}, which ${reason}; npm install ${name}`,
      { cause },
    );
  }
}
