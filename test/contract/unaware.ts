import type { LogDriver, LogMember, MemberIdentity } from 'nest-kq/src/driver/driver.js';

/** A client whose one member can be kept from learning of rebalances, for its transactions. */
export class Unaware implements LogDriver {
  private current: LogMember | undefined;
  private kept: MemberIdentity | undefined;

  constructor(private readonly driver: LogDriver) {}

  get admin() {
    return this.driver.admin;
  }

  /** Until `learn`, the member says that it is who it is now. */
  keep(): void {
    this.kept = this.current!.identity;
  }

  learn(): void {
    this.kept = undefined;
  }

  readonly producer: LogDriver['producer'] = (options) => this.driver.producer(options);

  readonly member: LogDriver['member'] = (options, handler) => {
    const member = this.driver.member(options, handler);
    this.current = member;
    const identity = () => this.kept ?? member.identity;
    return {
      start: () => member.start(),
      pause: (topic, partition) => member.pause(topic, partition),
      resume: (topic, partition) => member.resume(topic, partition),
      commit: (offsets) => member.commit(offsets),
      get identity() {
        return identity();
      },
      rejoin: (error) => member.rejoin(error),
      stop: () => member.stop(),
    };
  };

  close(): Promise<void> {
    return this.driver.close();
  }
}
