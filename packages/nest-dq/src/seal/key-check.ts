import type { Clock } from 'nest-handlers/time';
import { otherBytesError, type Seal } from './seal.js';
import { factOf } from '../errors.js';

interface KeyCheckParts {
  readonly seal: Seal;
  /** Resolves with the fingerprints stored for all processes under these names. May store those of `own` where there are none. */
  readonly read: (own: ReadonlyMap<string, string>) => Promise<ReadonlyMap<string, string>>;
  /** Like `read`, but stores nothing. */
  readonly peek: (own: ReadonlyMap<string, string>) => Promise<ReadonlyMap<string, string>>;
  readonly clock: Clock;
  readonly log: (message: string) => void;
  readonly error: (message: string) => void;
}

/** In ms. Within three admission rounds, every other process has stored its fingerprints. */
const LEFT_TO_OTHERS = 15_000;

/**
 * Refuses seal keys that mean other bytes than in the other processes of the prefix, now or before a restart: nobody else could
 * open what is sealed with them here, and what others sealed would look altered and be buried.
 */
export class KeyCheck {
  /** By name of a refused key: clock time in ms since when nothing is stored for it. */
  private readonly absentSince = new Map<string, number>();

  constructor(private readonly parts: KeyCheckParts) {}

  /** Compares the keys with the stored fingerprints. `DQ_LEDGER_DOWN`: nothing has changed. */
  async look(): Promise<void> {
    const { seal, log, error } = this.parts;
    const own = seal.prints();
    const before = seal.refused;
    const stored = await this.stored(own);
    const isWrong = (name: string, print: string) => {
      const known = stored.get(name);
      return known === undefined ? before.includes(name) : known !== print;
    };
    const wrong = [...own].filter(([name, print]) => isWrong(name, print)).map(([name]) => name);
    seal.refused = wrong;
    if (wrong.join() === before.join()) return;
    if (wrong.length > 0) error(`refusing to seal or read with it: ${factOf(otherBytesError(wrong))}`);
    else log(`the keys of \`seal.keys\` match those of the other processes again; all of them are in use`);
  }

  /**
   * Resolves with the stored fingerprints of these keys. After Redis lost its data, a refused key must not become the reference
   * for the others, so it is stored only if nobody else has stored one for a while.
   */
  private async stored(own: ReadonlyMap<string, string>): Promise<ReadonlyMap<string, string>> {
    const { seal, read, peek, clock } = this.parts;
    const refused = [...own].filter(([name]) => seal.refused.includes(name));
    if (refused.length === 0) return read(own);
    const peeked = await peek(new Map(refused));
    const now = clock.now();
    const waiting = new Set<string>();
    for (const [name] of refused) {
      const since = peeked.has(name) ? undefined : (this.absentSince.get(name) ?? now);
      if (since === undefined) this.absentSince.delete(name);
      else this.absentSince.set(name, since);
      if (since === undefined || now - since < LEFT_TO_OTHERS) waiting.add(name);
    }
    const stored = await read(new Map([...own].filter(([name]) => !waiting.has(name))));
    return new Map([...peeked, ...stored]);
  }
}
