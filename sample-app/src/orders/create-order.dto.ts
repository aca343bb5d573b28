import { Type } from 'class-transformer';
import { IsInt, Max, Min } from 'class-validator';
import { Text } from '../common/text.decorator.js';

export class CreateOrderDto {
  @Text()
  product!: string;

  /** Forms carry numbers as texts. */
  @Type(() => Number)
  @Min(1)
  @Max(1_000)
  @IsInt()
  quantity!: number;
}
