/**
 * The keys of sealed copies. docs/security.md has the whole construction.
 *
 * Each process derives keys of its own from the current one (HKDF-SHA256, with a random salt that every copy names), and counts the
 * nonces of AES-256-GCM. So no nonce comes twice, however many jobs there are, and no two processes have to agree.
 */
import { createCipheriv, createDecipheriv, hash, hkdfSync, randomBytes } from 'node:crypto';
import { DqError, show } from '../errors.js';

const CIPHER = 'aes-256-gcm';
export const KEY_BYTES = 32;
const SALT_BYTES = 16;
const NONCE_BYTES = 12;
/** Those of the nonce that count. */
const COUNTER_BYTES = 6;
const TAG_BYTES = 16;
/** Of a proof, which tells that a copy belongs to its job. */
export const PROOF_BYTES = 16;
/** Salt, nonce and tag. */
export const SEAL_BYTES = SALT_BYTES + NONCE_BYTES + TAG_BYTES;
/** Derived keys that are kept: more processes have hardly written what waits here. */
const MOST_DERIVED = 1_000;
/** Jobs that one derived key seals. */
const MOST_SEALED = 2 ** 40;

export interface SealKeys {
  /** By their names; each has 32 bytes. What was sealed with any of them is read. */
  readonly keys: ReadonlyMap<string, Buffer>;
  /** The name of the key that seals. Undefined: nothing is sealed yet. */
  readonly current: string | undefined;
}

/** Where keys come from that are not given at once. */
export interface KeySource {
  /** `DQ_CONFIG`: what came is no keys. */
  fetch(): Promise<SealKeys>;
  /** Milliseconds after which they are fetched again. */
  readonly refresh: number;
}

export interface SealSettings {
  /** Nobody without the key reads payloads, keys, headers and groups. Otherwise nobody can only change them. */
  readonly encrypt: boolean;
  /** Copies without a seal are taken, too. */
  readonly acceptsUnsealed: boolean;
  /** Jobs of these tubes have no seal. */
  readonly unsealed: ReadonlySet<string>;
  /** Which cluster it is: what another one sealed is refused, also with the same keys. @default '' */
  readonly context?: string;
  /** @default the keys are given */
  readonly source?: KeySource;
}

/** Why a sealed copy does not open. `unknownKey`: it is no fault of the copy. */
type SealFault = 'unknownKey' | 'broken';

/** What was derived from a key for one salt. */
interface DerivedKeys {
  /** In latin1. */
  readonly salt: string;
  readonly job: Buffer;
  readonly copy: Hmac;
}

/** A key that seals, for one salt. */
export interface SealingKey extends DerivedKeys {
  readonly name: string;
  /** How many jobs. */
  sealed: number;
}

/** One job, sealed. */
export interface SealedJob {
  readonly key: DerivedKeys;
  /** In latin1. */
  readonly nonce: string;
  /** Salt, nonce, tag, and what is encrypted; in latin1. */
  readonly text: string;
}

interface OpenedJob {
  readonly key: DerivedKeys;
  /** In latin1. */
  readonly nonce: string;
  readonly secret: Buffer;
}

export class Seal {
  /** Asks for keys anew. True: it did, so a key that is unknown may soon be known. @default false, as the keys were given */
  askForKeys: () => boolean = () => false;

  /** The names of keys that mean other bytes in other processes: nothing is sealed or read with them here. */
  refused: readonly string[] = [];

  private own: SealingKey | undefined;
  private readonly nonce = Buffer.alloc(NONCE_BYTES);
  /** By the key's name and the salt; the oldest first. */
  private readonly derived = new Map<string, DerivedKeys>();
  /** By the key's name. */
  private readonly ofReferences = new Map<string, Hmac>();

  constructor(
    readonly settings: SealSettings,
    /** Undefined: they are still to be fetched. */
    private keys?: SealKeys,
  ) {}

  /** From now on these keys. `DQ_CONFIG`: a name means other bytes than before, so that nobody could tell what was sealed with which. */
  use(keys: SealKeys): void {
    for (const [name, key] of keys.keys) {
      if (this.keys?.keys.get(name)?.equals(key) === false)
        throw new DqError(
          'DQ_CONFIG',
          `the key ${show(name)} of \`seal.keys\` has other bytes than before: expected a new name for a new key`,
        );
    }
    this.keys = keys;
  }

  /** The name of the key of the tube's next job. Undefined: it has no seal. */
  keyNameFor(tube: string): string | undefined {
    return this.settings.unsealed.has(tube) ? undefined : this.known.current;
  }

  /** What seals the next job of the tube. Undefined: it has no seal. `DQ_CONFIG`: the key is refused. */
  keyFor(tube: string): SealingKey | undefined {
    const current = this.keyNameFor(tube);
    if (current === undefined) return undefined;
    if (this.refused.includes(current)) throw otherBytesError([current]);
    const { keys } = this.known;
    if (this.own?.name !== current || this.own.sealed >= MOST_SEALED) {
      const salt = randomBytes(SALT_BYTES).toString('latin1');
      this.own = { name: current, sealed: 0, ...this.derive(keys.get(current)!, salt) };
    }
    return this.own;
  }

  /** Whether a copy in the tube may have no seal. */
  takesUnsealed(tube: string): boolean {
    return this.settings.acceptsUnsealed || this.settings.unsealed.has(tube);
  }

  /**
   * @param covered What anybody may read, and nobody may change.
   * @param secret What nobody may read.
   */
  seal(key: SealingKey, covered: Uint8Array, secret: Uint8Array): SealedJob {
    this.nonce.writeUIntBE(key.sealed++, NONCE_BYTES - COUNTER_BYTES, COUNTER_BYTES);
    const cipher = createCipheriv(CIPHER, key.job, this.nonce);
    cipher.setAAD(covered);
    // One text and no sum of texts, which each copy would put together anew.
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

  /** Of each key: 16 hexadecimal digits that tell it from others, and of which nobody learns more than that. */
  prints(): Map<string, string> {
    const keys = this.keys ? [...this.keys.keys] : [];
    return new Map(
      keys.map(([name, key]) => [name, this.keyOf(key, '', 'fingerprint').toString('hex', 0, 8)]),
    );
  }

  /** What proves that somebody with this key wrote the text of a reference, in ASCII; 22 characters. */
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
      'the keys of `seal` are not there yet: expected the start of the module first',
    );
  }

  private keysOf(name: string, master: Buffer, salt: string): DerivedKeys {
    const id = name + salt;
    const known = this.derived.get(id);
    if (known) return known;
    const made = this.derive(master, salt);
    if (this.derived.size >= MOST_DERIVED) this.derived.delete(this.derived.keys().next().value!);
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

/** What fails where keys have names that mean other bytes. */
export function otherBytesError(names: readonly string[]): DqError {
  const keys = names.map((name) => show(name)).join(', ');
  return new DqError(
    'DQ_CONFIG',
    `${names.length === 1 ? 'the key' : 'the keys'} ${keys} of \`seal.keys\`: other processes have, or had, other bytes or another \`seal.context\` under the same name: expected the same key everywhere, and a new name for a new key`,
  );
}

/** The proof that the primary, of which `fields` tell in ASCII, is one of this job's copies; in latin1. */
export function proofOf({ key, nonce }: Omit<SealedJob, 'text'>, fields: string): string {
  return key.copy.of(nonce + fields).slice(0, PROOF_BYTES);
}

const HASH = 'sha256';
/** Bytes. */
const BLOCK = 64;
const DIGEST = 32;

/**
 * HMAC-SHA256 (RFC 2104) with one key. It answers as `createHmac` of Node, in half of the time: Node makes an object for each message, and
 * this asks for two hashes.
 */
export class Hmac {
  private readonly inner: string;
  /** The key's block, and behind it the digest of the moment. */
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

  /** 32 bytes. Both texts are latin1, a character a byte. */
  of(message: string): string {
    const digest = hash(HASH, Buffer.from(this.inner + message, 'latin1'), 'binary');
    this.outer.write(digest, BLOCK, 'latin1');
    return hash(HASH, this.outer, 'binary');
  }
}
