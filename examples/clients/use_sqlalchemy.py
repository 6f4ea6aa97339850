# SQLAlchemy: a column type, queries, a change, and reflection.
import warnings
from sqlalchemy import Column, Index, MetaData, Table, Text, create_engine, func, select
from sqlalchemy.dialects.postgresql.base import ischema_names
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.orm import Session, declarative_base
from sqlalchemy.types import UserDefinedType

class Bloom(UserDefinedType):
    cache_ok = True

    def get_col_spec(self, **kw):
        return "bloom"

ischema_names["bloom"] = Bloom      # the class that reflection uses

class Filter(declarative_base()):
    __tablename__ = "filters"
    name = Column(Text, primary_key=True)
    seen = Column(Bloom, nullable=False)

warnings.simplefilter("error")
engine = create_engine("postgresql+psycopg2://")
with Session(engine) as session:
    numbers = select(func.bloom_contains(Filter.seen, 7)).where(Filter.name == "numbers")
    each = select(func.bloom_contains_each(Filter.seen, [7, 100001])).where(Filter.name == "numbers")
    print(session.scalar(numbers), session.scalar(each))
    # SQLAlchemy reads and writes a filter as a str
    hosts = session.get(Filter, "hosts")
    session.add(Filter(name="copy", seen=hosts.seen))
    hosts.seen = func.bloom_add(Filter.seen, "newer")
    session.flush()
    print(session.scalar(select(func.bloom_contains(Filter.seen, "newer")).where(Filter.name == "hosts")))
    try:
        session.execute(select(func.bloom_contains(Filter.seen, "7")).where(Filter.name == "numbers"))
    except ProgrammingError as error:
        print(type(error.orig).__name__)
print(repr(Table("filters", MetaData(), autoload_with=engine).c.seen.type))

# Output:
# True [True, False]
# True
# DatatypeMismatch
# Bloom()
