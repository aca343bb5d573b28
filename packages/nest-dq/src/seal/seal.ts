/**
 * Keys of sealed copies. See docs/security.md for the whole construction.
 *
 * Each process derives its own keys from the current one (HKDF-SHA256, with a random salt that every copy names), and uses a
 * counter as the nonce of AES-256-GCM. So no nonce is ever reused, however many jobs there are, and no two processes have to
 * coordinate.
 */
import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from 'node:crypto';
import { DqError, show } from '../errors.js';

const CIPHER = 'aes-256-gcm';
export const KEY_BYTES = 32;
const SALT_BYTES = 16;
const NONCE_BYTES = 12;
/** Counter part of the nonce. */
const COUNTER_BYTES = 6;
const TAG_BYTES = 16;
/** Size of a proof that a copy belongs to its job. */
export const PROOF_BYTES = 16;
/** Salt, nonce and tag. */
export const SEAL_BYTES = SALT_BYTES + NONCE_BYTES + TAG_BYTES;
/** Max cached derived keys: waiting jobs are unlikely to come from more processes. */
const MAX_DERIVED = 1_000;
/** Max jobs sealed with one derived key. */
const MAX_SEALED = 2 ** 40;

export interface SealKeys {
  /** By name; 32 bytes each. Copies sealed with any of them can be read. */
  readonly keys: ReadonlyMap<string, Buffer>;
  /** Name of the key to seal with. Undefined if nothing is sealed yet. */
  readonly current: string | undefined;
}

/** Source of keys that are not given directly. */
export interface KeySource {
  /** Fetches the keys. `DQ_CONFIG` if the result isn't valid keys. */
  fetch(): Promise<SealKeys>;
  /** Refresh interval, in ms. */
  readonly refresh: number;
}

export interface SealSettings {
  /** If true, nobody without the key can read payloads, keys, headers and groups. Otherwise they are only protected from changes. */
  readonly encrypt: boolean;
  /** Whether copies without a seal are accepted too. */
  readonly acceptsUnsealed: boolean;
  /** Tubes whose jobs are not sealed. */
  readonly unsealed: ReadonlySet<string>;
  /** Name of the cluster: anything sealed by another one is rejected, even with the same keys. @default '' */
  readonly context?: string;
  /** Source of the keys, if they are fetched. @default the keys are given directly */
  readonly source?: KeySource;
}

/** Why a sealed copy can't be opened. `unknownKey` isn't the copy's fault. */
type SealFault = 'unknownKey' | 'broken';

/** Keys derived from a key for one salt. */
interface DerivedKeys {
  /** In latin1. */
  readonly salt: string;
  readonly job: Buffer;
  readonly copy: Hmac;
}

/** A sealing key, for one salt. */
export interface SealingKey extends DerivedKeys {
  readonly name: string;
  /** Number of jobs sealed with it. */
  sealed: number;
}

/** A sealed job. */
export interface SealedJob {
  readonly key: DerivedKeys;
  /** In latin1. */
  readonly nonce: string;
  /** Salt, nonce, tag and the encrypted part, in latin1. */
  readonly text: string;
}

interface OpenedJob {
  readonly key: DerivedKeys;
  /** In latin1. */
  readonly nonce: string;
  readonly secret: Buffer;
}

export class Seal {
  /**
   * Requests a refresh of the keys. Returns true if it did, so that an unknown key may soon be known. @default returns false,
   * since the keys were given
   */
  askForKeys: () => boolean = () => false;

  /** Names of keys that mean other bytes in other processes: nothing is sealed or read with them here. */
  refused: readonly string[] = [];

  private own: SealingKey | undefined;
  private readonly nonce = Buffer.alloc(NONCE_BYTES);
  /** By key name and salt; the oldest first. */
  private readonly derived = new Map<string, DerivedKeys>();
  /** By key name. */
  private readonly ofReferences = new Map<string, Hmac>();

  constructor(
    readonly settings: SealSettings,
    /** Undefined until they are fetched. */
    private keys?: SealKeys,
  ) {}

  /** Replaces the keys. `DQ_CONFIG` if a name means other bytes than before, since nobody could tell which of them sealed a copy. */
  use(keys: SealKeys): void {
    for (const [name, key] of keys.keys) {
      if (this.keys?.keys.get(name)?.equals(key) === false)
        throw new DqError(
          'DQ_CONFIG',
          `the key ${show(name)} of \`seal.keys\` has different bytes than before: expected a new name for a new key`,
        );
    }
    this.keys = keys;
  }

  /** Returns the name of the key for the tube's next job. Undefined if it isn't sealed. */
  keyNameFor(tube: string): string | undefined {
    return this.settings.unsealed.has(tube) ? undefined : this.known.current;
  }

  /** Returns the sealing key for the tube's next job. Undefined if it isn't sealed. `DQ_CONFIG` if the key is refused. */
  keyFor(tube: string): SealingKey | undefined {
    const current = this.keyNameFor(tube);
    if (current === undefined) return undefined;
    if (this.refused.includes(current)) throw otherBytesError([current]);
    const { keys } = this.known;
    if (this.own?.name !== current || this.own.sealed >= MAX_SEALED) {
      const salt = randomBytes(SALT_BYTES).toString('latin1');
      this.own = { name: current, sealed: 0, ...this.derive(keys.get(current)!, salt) };
    }
    return this.own;
  }

  /** Returns whether a copy in the tube may be unsealed. */
  takesUnsealed(tube: string): boolean {
    return this.settings.acceptsUnsealed || this.settings.unsealed.has(tube);
  }

  /**
   * @param covered Authenticated but not encrypted.
   * @param secret Encrypted.
   */
  seal(key: SealingKey, covered: Uint8Array, secret: Uint8Array): SealedJob {
    this.nonce.writeUIntBE(key.sealed++, NONCE_BYTES - COUNTER_BYTES, COUNTER_BYTES);
    const cipher = createCipheriv(CIPHER, key.job, this.nonce);
    cipher.setAAD(covered);
    // One string rather than a concatenation, which each copy would have to flatten again.
    const bytes = Buffer.allocUnsafe(SEAL_BYTES + secret.length);
    bytes.write(key.salt, 'latin1');
    this.nonce.copy(bytes, SALT_BYTES);
    cipher.update(secret).copy(bytes, SEAL_BYTES);
    cipher.final();
    cipher.getAuthTag().copy(bytes, SALT_BYTES + NONCE_BYTES);
    return { key, nonce: this.nonce.toString('latin1'), text: bytes.toString('latin1') };
  }

  open(name: string, covered: Uint8Array, bytes: Buffer): OpenedJob | SealFault {
    const master = this.known.keys.get(name);
    if (!master || this.refused.includes(name)) return 'unknownKey';
    if (bytes.length < SEAL_BYTES) return 'broken';
    const key = this.keysOf(name, master, bytes.toString('latin1', 0, SALT_BYTES));
    const nonce = bytes.subarray(SALT_BYTES, SALT_BYTES + NONCE_BYTES);
    const cipher = createDecipheriv(CIPHER, key.job, nonce, { authTagLength: TAG_BYTES });
    cipher.setAAD(covered);
    cipher.setAuthTag(bytes.subarray(SALT_BYTES + NONCE_BYTES, SEAL_BYTES));
    const secret = cipher.update(bytes.subarray(SEAL_BYTES));
    try {
      cipher.final();
    } catch {
      return 'broken'; // the one thing that it can say
    }
    return { key, nonce: nonce.toString('latin1'), secret };
  }

  knows(name: string): boolean {
    return this.known.keys.has(name) && !this.refused.includes(name);
  }

  /** Returns a fingerprint of each key: 16 hex digits that distinguish it from others and reveal nothing else. */
  prints(): Map<string, string> {
    const keys = this.keys ? [...this.keys.keys] : [];
    return new Map(
      keys.map(([name, key]) => [name, this.keyOf(key, '', 'fingerprint').toString('hex', 0, 8)]),
    );
  }

  /** Returns the tag that proves that a holder of this key wrote the text of a reference: 22 ASCII characters. */
  tagOf(name: string, text: string): string {
    let hmac = this.ofReferences.get(name);
    if (!hmac) {
      hmac = new Hmac(this.keyOf(this.known.keys.get(name)!, '', 'reference'));
      this.ofReferences.set(name, hmac);
    }
    return Buffer.from(hmac.of(text).slice(0, PROOF_BYTES), 'latin1').toString('base64url');
  }

  private get known(): SealKeys {
    if (this.keys) return this.keys;
    throw new DqError(
      'DQ_CONFIG',
      'the keys of `seal` have not been fetched yet: expected the module to be started first',
    );
  }

  private keysOf(name: string, master: Buffer, salt: string): DerivedKeys {
    const id = name + salt;
    const known = this.derived.get(id);
    if (known) return known;
    const made = this.derive(master, salt);
    if (this.derived.size >= MAX_DERIVED) this.derived.delete(this.derived.keys().next().value!);
    this.derived.set(id, made);
    return made;
  }

  private derive(master: Buffer, salt: string): DerivedKeys {
    return { salt, job: this.keyOf(master, salt, 'job'), copy: new Hmac(this.keyOf(master, salt, 'copy')) };
  }

  /** @param salt In latin1. */
  private keyOf(master: Buffer, salt: string, what: string): Buffer {
    const info = `nest-dq seal 2, ${what}\n${this.settings.context ?? ''}`;
    return Buffer.from(hkdfSync('sha256', master, Buffer.from(salt, 'latin1'), info, KEY_BYTES));
  }
}

/** Returns the error for key names that mean other bytes. */
export function otherBytesError(names: readonly string[]): DqError {
  const keys = names.map((name) => show(name)).join(', ');
  return new DqError(
    'DQ_CONFIG',
    `${names.length === 1 ? 'the key' : 'the keys'} ${keys} of \`seal.keys\`: other processes have or had different bytes or a different \`seal.context\` under the same name: expected the same key everywhere, and a new name for a new key`,
  );
}

/** Returns the proof that the primary with these `fields` (ASCII) is one of this job's copies; in latin1. */
export function proofOf({ key, nonce }: Omit<SealedJob, 'text'>, fields: string): string {
  return key.copy.of(nonce + fields).slice(0, PROOF_BYTES);
}

const HASH = 'sha256';
/** In bytes. */
const BLOCK = 64;
const DIGEST = 32;

/**
 * HMAC-SHA256 (RFC 2104) with one key. Same result as Node's `createHmac` in half the time: Node creates an object per message,
 * while this computes two hashes.
 */
export class Hmac {
  private readonly inner: string;
  /** The key's block, followed by the current digest. */
  private readonly outer = Buffer.alloc(BLOCK + DIGEST, 0x5c);

  /** @param key At most 64 bytes. */
  constructor(key: Uint8Array) {
    const inner = Buffer.alloc(BLOCK, 0x36);
    for (const [at, byte] of key.entries()) {
      inner[at]! ^= byte;
      this.outer[at]! ^= byte;
    }
    this.inner = inner.toString('latin1');
  }

  /** Returns 32 bytes. Both strings are latin1, one character per byte. */
  of(message: string): string {
    const digest = hash(HASH, Buffer.from(this.inner + message, 'latin1'), 'binary');
    this.outer.write(digest, BLOCK, 'latin1');
    return hash(HASH, this.outer, 'binary');
  }
}
