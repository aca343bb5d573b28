/** Of kafkajs, which has no types for it: how each version of each request is made and its answer read. */
declare module 'kafkajs/src/protocol/requests/index.js' {
  interface Call {
    readonly request: { encode(): Promise<{ readonly buffer: Buffer }> };
    readonly response: object;
  }
  const protocol: {
    readonly requests: {
      readonly Produce: { protocol(wanted: { readonly version: number }): (request: object) => Call };
    };
  };
  export default protocol;
}

declare module 'kafkajs/src/protocol/recordBatch/v0/decoder.js' {
  interface Batch {
    readonly maxTimestamp: string;
    readonly records: readonly { readonly timestamp: string }[];
  }
  export default function decode(decoder: object): Promise<Batch>;
}

declare module 'kafkajs/src/protocol/decoder.js' {
  export default class Decoder {
    constructor(bytes: Buffer);
  }
}
