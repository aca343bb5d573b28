import { Injectable } from '@nestjs/common';

export interface CustomerEvent {
  id: string;
  customer: string;
  text: string;
}

/** Plays the customers' servers, which may be down. */
@Injectable()
export class Customers {
  private readonly down = new Set<string>();
  private readonly received = new Map<string, CustomerEvent & { attempt: number }>();

  set(customer: string, state: 'up' | 'down'): void {
    if (state === 'down') this.down.add(customer);
    else this.down.delete(customer);
  }

  list() {
    return [...this.received.values()];
  }

  async post(event: CustomerEvent, attempt: number): Promise<void> {
    if (this.down.has(event.customer)) throw new Error(`the server of ${event.customer} is down`);
    // By id, because a message is delivered at least once.
    if (!this.received.has(event.id)) this.received.set(event.id, { ...event, attempt });
  }
}
