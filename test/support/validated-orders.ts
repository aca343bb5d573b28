import { Injectable, ParseIntPipe, UsePipes, ValidationPipe } from '@nestjs/common';
import { Type } from 'class-transformer';
import { IsInt, IsString, ValidateNested } from 'class-validator';
import { CurrentJob, DelayedHandler, DelayedJob, DelayedPayload } from 'nest-dq';
import { seen } from './noting-enhancers.js';

class Line {
  @IsString()
  sku!: string;
  @IsInt()
  count!: number;
}

class Order {
  @IsString()
  id!: string;
  @ValidateNested({ each: true })
  @Type(() => Line)
  lines!: Line[];
}

/** Handlers whose payloads go through pipes. They note in `seen` the payloads that they get. */
@Injectable()
export class Orders {
  @UsePipes(new ValidationPipe({ transform: true, whitelist: true }))
  @DelayedHandler('plain')
  plain(order: Order, job: DelayedJob): void {
    seen.push(order instanceof Order, order.lines[0] instanceof Line, order, job.payload);
  }

  @DelayedHandler('decorated')
  decorated(@DelayedPayload(new ValidationPipe({ transform: true })) order: Order, job: DelayedJob): void {
    seen.push(order instanceof Order, job instanceof DelayedJob);
  }

  @DelayedHandler('moved')
  moved(@CurrentJob() job: DelayedJob, @DelayedPayload(ParseIntPipe) count: number): void {
    seen.push(job.tube, count);
  }
}
