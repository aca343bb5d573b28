// A proxy before a broker, which stops single requests on their way.
import { Proxy, type Carrier, type Link, type Target } from 'test-servers';

/** By the numbers of Kafka's protocol. */
export const REQUESTS = { endTxn: 26, txnOffsetCommit: 28 } as const;

/** A request that the broker does not have yet. */
export interface StoppedRequest {
  /** Lets the broker have it. */
  pass(): void;
  /** Lets the broker have it, and ends the connection instead of its answer. Resolves then. */
  loseAnswer(): Promise<void>;
  /** Ends the connection. The broker never has it. */
  lose(): void;
}

interface Awaited {
  readonly apiKey: number;
  readonly stopped: (request: StoppedRequest) => void;
}

export class KafkaProxy {
  private proxy!: Proxy;
  private awaited: Awaited | undefined;

  private constructor() {}

  /** It leads nowhere before `lead`. */
  static async start(): Promise<KafkaProxy> {
    const proxy = new KafkaProxy();
    proxy.proxy = await Proxy.to({ host: '127.0.0.1', port: 0 }, (link) => proxy.carry(link));
    return proxy;
  }

  get endpoint(): string {
    return this.proxy.endpoint;
  }

  lead(broker: Target): void {
    this.proxy.lead(broker);
  }

  /** Stops the next request of this kind. What its client sends after it waits, too. */
  stops(apiKey: number): Promise<StoppedRequest> {
    return new Promise((stopped) => (this.awaited = { apiKey, stopped }));
  }

  stop(): Promise<void> {
    return this.proxy.stop();
  }

  private carry({ client, server }: Link): Carrier {
    /** Bytes held back, from the stopped request on. */
    let waiting: Buffer[] | undefined;
    /** The number of the request whose answer is lost. */
    let losing: number | undefined;
    let lost = () => {};
    const end = () => {
      client.destroy();
      server.destroy();
    };
    const pass = () => {
      for (const frame of waiting ?? []) server.write(frame);
      waiting = undefined;
    };
    const loseAnswer = (request: Buffer) => {
      losing = request.readInt32BE(8);
      pass();
      return new Promise<void>((resolve) => (lost = resolve));
    };
    const toServer = frames((frame) => {
      const { awaited } = this;
      if (waiting) waiting.push(frame);
      else if (frame.readInt16BE(4) === awaited?.apiKey) {
        this.awaited = undefined;
        waiting = [frame];
        awaited.stopped({ pass, loseAnswer: () => loseAnswer(frame), lose: end });
      } else server.write(frame);
    });
    const toClient = frames((frame) => {
      if (frame.readInt32BE(4) !== losing) return void client.write(frame);
      end();
      lost();
    });
    return { toServer, toClient };
  }
}

/** Splits a stream of bytes into frames: a length of four bytes, followed by that number of bytes. */
function frames(take: (frame: Buffer) => void): (bytes: Buffer) => void {
  let left = Buffer.alloc(0);
  return (bytes) => {
    left = Buffer.concat([left, bytes]);
    while (left.length >= 4) {
      const end = 4 + left.readInt32BE(0);
      if (left.length < end) return;
      take(left.subarray(0, end));
      left = left.subarray(end);
    }
  };
}
